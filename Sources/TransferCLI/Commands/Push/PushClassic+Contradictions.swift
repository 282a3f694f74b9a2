internal import TransferClassic
internal import TransferClient

/// What servers of classic framings cannot do.
extension PushClassic {
    /// Wishes that would come to nothing, wherever they are said.
    private static let refused: [(flag: Flag, reason: String)] = [
        (PushFlags.receipts.flag, "such a server signs nothing"),
        (PushFlags.deletesSources.flag, "such a server proves nothing, so the source stays"),
        (PushFlags.seals.flag, "such a server has no mailboxes"),
        (SecurityFlags.serverKey.flag, "such a server has no key"),
        (SecurityFlags.trustsNew.flag, "such a server has no key"),
        (SecurityFlags.tokenFile.flag, "without encryption whoever listens in could use the token"),
        (SecurityFlags.asksToken.flag, "without encryption whoever listens in could use the token"),
    ]

    /// Of these, those on the command line: whoever has set them for all pushes has not asked such a server for them.
    private static let unknown = ["on-conflict", "digest", "compress-level", "retry", "bandwidth"]

    /// - Throws: `UsageError` for a flag whose wish nobody would meet.
    static func check(_ arguments: ParsedArguments, _ configuration: ClientConfiguration) throws(UsageError) {
        for (flag, reason) in refused where arguments.isSet(flag) {
            throw arguments.error("\(arguments.source(of: flag)) cannot be met with --classic: \(reason)")
        }
        for flag in PushFlags.handling.map(\.flag) where isGiven(flag, arguments) && unknown.contains(flag.name) {
            throw arguments.error("\(flag.spelling) cannot be met with --classic: such a server doesn't know it")
        }
        guard Environment.value(of: PushAccess.variable) == nil else {
            throw arguments.error(
                "\(PushAccess.variable) cannot be met with --classic: without encryption whoever listens in could use it"
            )
        }
        let isOneLane = configuration.lanes == .auto || configuration.lanes == .fixed(1)
        guard
            isOneLane || !PushFlags.handling.contains(where: { $0.flag.name == "lanes" && isGiven($0.flag, arguments) })
        else { throw arguments.error("--lanes cannot be met with --classic: there is one connection") }
    }

    private static func isGiven(_ flag: Flag, _ arguments: ParsedArguments) -> Bool {
        arguments.isSet(flag) && arguments.source(of: flag) == flag.spelling
    }

    /// Whether chunks are to be compressed; `auto` is not to.
    static func compresses(
        _ framing: ClassicFraming, _ arguments: ParsedArguments, _ configuration: ClientConfiguration
    ) throws(UsageError) -> Bool {
        guard configuration.compression == .zlib else { return false }
        guard framing == .header7 else {
            throw arguments.error(
                "--compress zlib cannot be met with --classic \(framing.name), which has no compression")
        }
        return true
    }
}
