import TransferProtocol

extension Features {
    /// What to say of a server that cannot do all of this; a few sentences.
    var absence: String {
        guard contains(.mail) else {
            return
                "The server only takes uploads: it is of an older version, which can neither list nor send nor remove what "
                + "it has."
        }
        return "The server has no mailbox for this client: it is of an older version, or runs without mailboxes (with "
            + "--no-mail, --plaintext or --open), or has no name for this client, which is let in without a line in its "
            + "lists: its operator gives it one with 'transfer access add'."
    }
}
