internal import COpenSSL

/// The parts of a TLS client hello that the server uses.
struct HelloOffer {
    /// Extensions that are read (RFC 7301, section 3.1; RFC 8446, section 4.2).
    private static let kinds = (protocols: UInt32(16), algorithms: UInt32(13))

    /// Signature algorithm `ed25519` (RFC 8446, section 4.2.3).
    private static let ed25519: [UInt8] = [0x08, 0x07]

    /// Protocols that the client offers above TLS.
    let protocols: [[UInt8]]

    /// Whether the client can verify Ed25519 signatures. Browsers cannot.
    let knowsEd25519: Bool

    /// Reads the contents of both extensions, which are empty if an extension is missing. A malformed extension is read
    /// as far as possible, because OpenSSL refuses such a hello.
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

    /// - Parameter session: OpenSSL's session; valid only in the callback for client hellos.
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

    /// Whether the client offers one of these protocols.
    func offers(anyOf names: [String]) -> Bool {
        protocols.contains { offered in names.contains { $0.utf8.elementsEqual(offered) } }
    }
}
