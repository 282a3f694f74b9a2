internal import TransferClient
private import TransferHTTP
private import TransferIO
private import TransferSystem

/// `transfer push --to https://…`: what cannot be met over HTTP is refused.
enum PushHTTP {
    /// Wishes that would come to nothing, wherever they are said.
    private static let refused: [(flag: Flag, reason: String)] = [
        (PushFlags.receipts.flag, "there are no receipts"),
        (PushFlags.deletesSources.flag, "nothing proves what the server has, so the source stays"),
        (PushFlags.seals.flag, "there are no mailboxes"),
        (PushClassic.recipient.flag, "there are no mailboxes"),
        (PushFlags.waits.flag, "there are no mailboxes"),
    ]

    /// Of these, those on the command line: whoever has set them for all pushes has not asked such a server for them.
    private static let unknown = ["compress", "compress-level", "digest", "lanes"]

    /// Does nothing for a server that speaks this protocol.
    ///
    /// - Throws: `UsageError` for a flag whose wish nobody would meet, and for what would travel in the clear.
    static func check(
        _ server: ServerAddress, _ arguments: ParsedArguments, _ configuration: inout ClientConfiguration
    ) throws(UsageError) {
        guard let web = server.web else { return }
        configuration.uploadStates = ConfigurationFolder.path.map { "\($0)/uploads" }
        for (flag, reason) in refused where arguments.isSet(flag) {
            throw arguments.error("\(arguments.source(of: flag)) cannot be met over HTTP: \(reason)")
        }
        for flag in PushFlags.handling.map(\.flag) where arguments.isSet(flag) && unknown.contains(flag.name) {
            guard arguments.source(of: flag) != flag.spelling else {
                throw arguments.error("\(flag.spelling) cannot be met over HTTP, which has nothing like it")
            }
        }
        let isPlaintext = arguments[SecurityFlags.plaintext]
        guard !web.isSecure else {
            guard !isPlaintext else { throw arguments.error("https:// is encrypted; drop --plaintext, or use http://") }
            return
        }
        guard !server.hasPassword else {
            throw arguments.error("without encryption whoever listens in could use the password; use https://")
        }
        guard isPlaintext || server.endpoint.mayBeLocal else {
            throw arguments.error("http:// has no encryption; where nobody can listen in, push with --plaintext")
        }
        configuration.isPlainOnlyHere = !isPlaintext
    }
}
