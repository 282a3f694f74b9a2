internal import COpenSSL

/// What a client says of itself before anything is agreed on, as far as a server goes by it.
struct HelloOffer {
    /// The extensions of a hello that are looked at (RFC 7301, section 3.1; RFC 8446, section 4.2).
    private static let kinds = (protocols: UInt32(16), algorithms: UInt32(13))

    /// `ed25519` (RFC 8446, section 4.2.3).
    private static let ed25519: [UInt8] = [0x08, 0x07]

    /// Names of what it would speak above TLS.
    let protocols: [[UInt8]]

    /// Whether it can tell who has made an Ed25519 signature. Browsers can't.
    let knowsEd25519: Bool

    /// Each as the extension carries it; nothing where it is missing. What is malformed is read as far as it goes: OpenSSL
    /// refuses such a hello.
    init(protocols: [UInt8], algorithms: [UInt8]) {
        var names: [[UInt8]] = []
        var rest = protocols.dropFirst(2)
        while let length = rest.popFirst() {
            names.append(Array(rest.prefix(Int(length))))
            rest = rest.dropFirst(Int(length))
        }
        self.protocols = names
        let pairs = Array(algorithms.dropFirst(2))
        knowsEd25519 = stride(from: 0, to: pairs.count, by: 2).contains { pairs[$0...].starts(with: Self.ed25519) }
    }

    /// - Parameter session: within the callback that is for hellos.
    init(_ session: OpaquePointer) {
        self.init(
            protocols: Self.content(of: Self.kinds.protocols, session),
            algorithms: Self.content(of: Self.kinds.algorithms, session))
    }

    private static func content(of kind: UInt32, _ session: OpaquePointer) -> [UInt8] {
        var start: UnsafePointer<UInt8>?
        var count = 0
        guard SSL_client_hello_get0_ext(session, kind, &start, &count) == 1, let start else { return [] }
        return Array(UnsafeBufferPointer(start: start, count: count))
    }

    /// Whether it would speak one of these.
    func offers(anyOf names: [String]) -> Bool {
        protocols.contains { offered in names.contains { $0.utf8.elementsEqual(offered) } }
    }
}
