/// TLS messages that may follow the handshake (RFC 8446, section 4).
package enum HandshakeMessage {
    package static let newSessionTicket: UInt8 = 4
    package static let keyUpdate: UInt8 = 24

    /// - Parameter isRequested: whether the other side is to renew its keys as well.
    package static func keyUpdate(isRequested: Bool) -> [UInt8] {
        message(keyUpdate, [isRequested ? 1 : 0])
    }

    /// A session ticket that does not belong to any session.
    package static func ticket(_ size: Int = 8) -> [UInt8] {
        let length = [UInt8(truncatingIfNeeded: size >> 8), UInt8(truncatingIfNeeded: size)]
        let lifetime: [UInt8] = [0, 0, 1, 0]
        let (age, nonce): ([UInt8], [UInt8]) = ([1, 2, 3, 4], [1, 9])
        return message(newSessionTicket, lifetime + age + nonce + length + Array(repeating: 7, count: size) + [0, 0])
    }

    /// A message of any kind, with its header.
    package static func message(_ kind: UInt8, _ body: [UInt8]) -> [UInt8] {
        [kind] + [16, 8, 0].map { UInt8(truncatingIfNeeded: body.count >> $0) } + body
    }
}
