internal import TransferClassic
internal import TransferClient

/// Flags that servers of classic framings do not support.
extension PushClassic {
    private static let unmet = UnmetWishes(
        place: "with --classic",
        refused: [
            (PushFlags.receipts.flag, "such servers issue no receipts"),
            (PushFlags.deletesSources.flag, "such servers do not prove what they have stored"),
            (PushFlags.verifiesPictures.flag, "such servers decode no pictures"),
            (ArchiveFlag.push.flag, "such servers take only files"),
            (PushFlags.seals.flag, "such servers have no mailboxes"),
            (SecurityFlags.serverKey.flag, "such a server has no key"),
            (SecurityFlags.trustsNew.flag, "such a server has no key"),
            (SecurityFlags.tokenFile.flag, "without encryption anyone on the network could use the token"),
            (SecurityFlags.asksToken.flag, "without encryption anyone on the network could use the token"),
        ],
        unknown: ["on-conflict", "digest", "compress-level", "retry", "bandwidth"],
        reason: ": such servers do not support it")

    /// - Throws: `UsageError` for a flag that would have no effect.
    static func check(_ arguments: ParsedArguments, _ configuration: ClientConfiguration) throws(UsageError) {
        try unmet.check(arguments)
        guard Environment.value(of: PushAccess.variable) == nil else {
            throw arguments.error(
                "\(PushAccess.variable) cannot be used with --classic: without encryption anyone on the "
                    + "network could use it"
            )
        }
        let isOneLane = configuration.lanes == .auto || configuration.lanes == .fixed(1)
        let lanes = PushFlags.handling.map(\.flag).filter { $0.name == "lanes" }
        guard isOneLane || !lanes.contains(where: { UnmetWishes.isOnCommandLine($0, arguments) }) else {
            throw arguments.error("--lanes cannot be used with --classic: there is one connection")
        }
    }

    /// Whether to compress chunks. With `auto`, they are not compressed.
    static func compresses(
        _ framing: ClassicFraming, _ arguments: ParsedArguments, _ configuration: ClientConfiguration
    ) throws(UsageError) -> Bool {
        guard configuration.compression != .zstd else {
            throw arguments.error("--compress zstd cannot be used with --classic: no such server supports it")
        }
        guard configuration.compression == .zlib else { return false }
        guard framing.isCompressible else {
            throw arguments.error(
                "--compress zlib cannot be used with --classic \(framing.name), which has no compression")
        }
        return true
    }
}
