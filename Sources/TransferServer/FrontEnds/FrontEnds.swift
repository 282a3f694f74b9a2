/// What may be spoken on a listener.
struct FrontEnds: Sendable {
    /// Answers whoever means none of them.
    let usual: any FrontEnd

    let others: [any FrontEnd]

    init(_ usual: any FrontEnd, _ others: [any FrontEnd] = []) {
        (self.usual, self.others) = (usual, others)
    }

    /// What may run above TLS, the preferred name first.
    var protocols: [String] { usual.protocols + others.flatMap(\.protocols) }
}
