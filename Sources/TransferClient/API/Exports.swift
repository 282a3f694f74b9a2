// What the API of this module is made of comes with it, so that a program imports one module.
@_exported public import TransferKeys
@_exported public import TransferModel
@_exported public import TransferReceipts
