"""The families of checkpoints, one file each: how their configurations and tensors become our specs and tensors."""

from cutaway.hub.families.bert import BERT, ROBERTA
from cutaway.hub.families.gpt2 import GPT2
from cutaway.hub.families.llama import LLAMA
from cutaway.hub.families.shared import Family
from cutaway.hub.families.t5 import T5
from cutaway.hub.families.vit import VIT

FAMILIES = (GPT2, LLAMA, BERT, ROBERTA, T5, VIT)
