import TransferProtocol

extension Features {
    /// Explains, in one or two sentences, that the server lacks one of these features.
    var absence: String {
        if contains(.pictures) {
            return
                "The server cannot decode pictures: it is of an older version, or runs with --thumbnails off."
        }
        if contains(.trees) {
            return "The server is of an older version, which can neither create folders nor move or copy files."
        }
        guard contains(.mail) else {
            return
                "The server only accepts uploads: it is of an older version, which can neither list "
                + "nor send nor remove files."
        }
        return
            "The server has no mailbox for this client. It is of an older version; or it has no "
            + "mailboxes, because it has no encryption or admits every client; or it admits this client "
            + "without a name in its lists, which its operator adds with 'transfer access add'."
    }
}
