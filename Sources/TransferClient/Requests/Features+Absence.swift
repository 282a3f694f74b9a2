import TransferProtocol

extension Features {
    /// Explains, in one or two sentences, that the server lacks one of these features.
    var absence: String {
        if contains(.trees) {
            return "The server is of an older version, which can neither make folders nor move what it has."
        }
        guard contains(.mail) else {
            return
                "The server only takes uploads: it is of an older version, which can neither list nor send nor remove what "
                + "it has."
        }
        return
            "The server has no mailbox for this client. It is of an older version, or keeps no mailboxes, as one without "
            + "encryption or one that lets everybody in; or it lets this client in without a name in its lists, which its "
            + "operator gives it with 'transfer access add'."
    }
}
