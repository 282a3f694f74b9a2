/// The flags of `transfer push` that a kind of server does not support.
struct UnmetWishes {
    /// A phrase for messages, as `over HTTP`.
    let place: String

    /// Flags that are refused wherever they are set, each with the reason for the message.
    let refused: [(flag: Flag, reason: String)]

    /// Names of flags that are refused only if they are on the command line. Settings of a configuration apply to all
    /// pushes, so they are ignored for this server.
    let unknown: [String]

    /// The end of the message for the flags in `unknown`.
    let reason: String

    /// - Throws: `UsageError` for the first flag that would have no effect.
    func check(_ arguments: ParsedArguments) throws(UsageError) {
        for (flag, reason) in refused where arguments.isSet(flag) {
            throw arguments.error("\(arguments.source(of: flag)) cannot be used \(place): \(reason)")
        }
        for flag in PushFlags.handling.map(\.flag)
        where unknown.contains(flag.name) && Self.isOnCommandLine(flag, arguments) {
            throw arguments.error("\(flag.spelling) cannot be used \(place)\(reason)")
        }
    }

    static func isOnCommandLine(_ flag: Flag, _ arguments: ParsedArguments) -> Bool {
        arguments.isSet(flag) && arguments.source(of: flag) == flag.spelling
    }
}
