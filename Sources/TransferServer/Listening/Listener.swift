import TransferIO

/// Where connections come in: an address, and what holds for those who come.
struct Listener {
    /// What may be spoken, and how it is secured.
    struct Terms: Sendable {
        let frontEnds: FrontEnds

        /// What connections are encrypted with from now on; nothing where they are not.
        let security: @Sendable () -> TLSContext?
    }

    let socket: ListeningSocket
    let terms: Terms

    /// What is spoken here; nothing for the usual front ends.
    let classic: ClassicListener?
}
