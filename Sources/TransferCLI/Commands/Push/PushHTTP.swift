internal import TransferClient
private import TransferHTTP
private import TransferIO
private import TransferSystem

/// `transfer push --to https://…`: refuses flags that HTTP does not support.
enum PushHTTP {
    private static let unmet = UnmetWishes(
        place: "over HTTP",
        refused: [
            (PushFlags.receipts.flag, "there are no receipts"),
            (PushFlags.deletesSources.flag, "nothing proves what the server has stored"),
            (PushFlags.verifiesPictures.flag, "the page of the server says it"),
            (ArchiveFlag.push.flag, "it carries only files"),
            (PushFlags.seals.flag, "there are no mailboxes"),
            (PushClassic.recipient.flag, "there are no mailboxes"),
            (PushFlags.waits.flag, "there are no mailboxes"),
        ],
        unknown: ["compress", "compress-level", "digest", "lanes"], reason: ", which does not support it")

    /// Checks only servers that are given by a URL.
    ///
    /// - Throws: `UsageError` for a flag that would have no effect, and for secrets that would be sent unencrypted.
    static func check(
        _ server: ServerAddress, _ arguments: ParsedArguments, _ configuration: inout ClientConfiguration
    ) throws(UsageError) {
        guard let web = server.web else { return }
        configuration.uploadStates = ConfigurationFolder.path.map { "\($0)/uploads" }
        try unmet.check(arguments)
        let isPlaintext = arguments[SecurityFlags.plaintext]
        guard !web.isSecure else {
            guard !isPlaintext else { throw arguments.error("https:// is encrypted; drop --plaintext, or use http://") }
            return
        }
        guard !server.hasPassword else {
            throw arguments.error("without encryption anyone on the network could use the password; use https://")
        }
        guard isPlaintext || server.endpoint.mayBeLocal else {
            throw arguments.error("http:// has no encryption; on a network that you trust, push with --plaintext")
        }
        configuration.isPlainOnlyHere = !isPlaintext
    }
}
