/// What may run above TLS, in the order in which a server prefers it, as ALPN (RFC 7301, section 3.1) carries it: the length of
/// the list in two bytes, then each name behind its length.
///
/// Never changed after it was made. OpenSSL reads it for as long as there are connections, so it lives as long as its
/// `TLSContext`.
final class ProtocolNames {
    private let bytes: UnsafeMutableBufferPointer<UInt8>

    init(_ names: [String]) {
        let list = names.flatMap { name in
            // Trap: names are constants of ours.
            precondition(1...255 ~= name.utf8.count, "no name that ALPN can carry")
            return [UInt8(name.utf8.count)] + name.utf8
        }
        // Trap: as above; there are a few of them.
        let length = UInt16(list.count)
        bytes = .allocate(capacity: list.count + 2)
        _ = bytes.initialize(from: [UInt8(length >> 8), UInt8(truncatingIfNeeded: length)] + list)
    }

    deinit {
        bytes.deallocate()
    }

    /// With the length in front.
    var withLength: UnsafeMutablePointer<UInt8>? { bytes.baseAddress }

    /// Without it.
    var list: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: bytes[2...]) }
}
