import TransferClassic

/// The front end of one of the classic framings, as docs/DIALECTS.md has them, on a listener of its own: nothing else is
/// spoken there, so nothing has to be recognised.
struct ClassicFrontEnd: FrontEnd {
    let listener: ClassicListener

    var name: String { listener.framing.name }

    /// They know no TLS.
    var protocols: [String] { [] }

    var openingSize: Int { 0 }

    func recognise(_ opening: [UInt8]) -> Recognition { .yes }

    func session(for handover: Handover, of core: ServerCore) -> any Session {
        ClassicSession(handover, core, listener)
    }
}
