/// HTTP on a listener of its own, for programs that watch over the server: nothing else is answered there, and nobody has to show who
/// he is.
struct ProbesFrontEnd: FrontEnd {
    let name = "probes"

    /// There is no TLS.
    var protocols: [String] { [] }

    var openingSize: Int { 0 }

    func recognise(_ opening: [UInt8]) -> Recognition { .yes }

    func session(for handover: Handover, of core: ServerCore) -> any Session {
        HTTPSession(handover, core, isPlain: false, isForProbes: true)
    }
}
