/// Names of protocols above TLS, in the order of the server's preference, encoded as in ALPN (RFC 7301, section 3.1):
/// two bytes with the length of the list, then each name after a byte with its length.
///
/// The memory is never changed after initialisation. OpenSSL reads it as long as there are connections, so it lives as
/// long as its `TLSContext`.
final class ProtocolNames {
    private let bytes: UnsafeMutableBufferPointer<UInt8>

    init(_ names: [String]) {
        let list = names.flatMap { name in
            // Trap: names are constants of this program.
            precondition(1...255 ~= name.utf8.count, "no name that ALPN can carry")
            return [UInt8(name.utf8.count)] + name.utf8
        }
        // Trap: as above; there are only a few names.
        let length = UInt16(list.count)
        bytes = .allocate(capacity: list.count + 2)
        _ = bytes.initialize(from: [UInt8(length >> 8), UInt8(truncatingIfNeeded: length)] + list)
    }

    deinit {
        bytes.deallocate()
    }

    /// The list with its length.
    var withLength: UnsafeMutablePointer<UInt8>? { bytes.baseAddress }

    /// The list without its length.
    var list: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: bytes[2...]) }
}
