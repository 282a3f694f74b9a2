/// Flags of `transfer push` that a kind of server has nothing for.
struct UnmetWishes {
    /// Where nothing is there for them, as `over HTTP`.
    let place: String

    /// Wishes that would come to nothing, wherever they are said.
    let refused: [(flag: Flag, reason: String)]

    /// Names of others, refused on the command line: whoever has set them for all pushes has not asked such a server for them.
    let unknown: [String]

    /// What is said of these behind the place.
    let reason: String

    /// - Throws: `UsageError` for the first flag whose wish nobody would meet.
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
