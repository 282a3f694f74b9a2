import TransferProtocol

/// The front end of Transfer's own protocol: frames, as docs/PROTOCOL.md has them.
struct BinaryFrontEnd: FrontEnd {
    /// What every frame begins with.
    private static let version = [UInt8(FrameHeader.version >> 8), UInt8(truncatingIfNeeded: FrameHeader.version)]

    let name = "frames"
    let protocols = [FrameHeader.protocolName]
    let openingSize = version.count

    func recognise(_ opening: [UInt8]) -> Recognition {
        guard opening.starts(with: Self.version) else {
            return Self.version.starts(with: opening) ? .needsMore : .no
        }
        return .yes
    }

    func session(for handover: Handover, of core: ServerCore) -> any Session { BinarySession(handover, core) }
}
