import TransferModel

/// The meaning of a frame's body; numbers on the wire.
package enum FunctionCode: UInt16, CaseIterable, Sendable {
    case hello = 1
    case welcome = 2
    case ping = 3
    case pong = 4
    case goodbye = 5
    case begin = 16
    case accept = 17
    case data = 18
    case block = 19
    case end = 20
    case abort = 21
    case received = 22
    case result = 23
    case resume = 24
    case have = 25
    case lookup = 26
    case unknown = 27
    case receipts = 28
    case list = 32
    case entries = 33
    case fetch = 34
    case file = 35
    case remove = 36
    case outcome = 37
    case cancel = 38
    case compare = 39
    case make = 40
    case move = 41
    case people = 48
    case persons = 49
    case mail = 50
    case deliveries = 51
    case settle = 52
    case arrived = 53
    case introduce = 54
}

/// How a body is encoded on the wire.
package enum BodyEncoding: UInt8, Sendable {
    case stored = 0
    /// One zlib stream (RFC 1950).
    case zlib = 1
    /// One zstd frame (RFC 8878). Used only if the `Features` of the receiving side permit it.
    case zstd = 2
    /// Only the number of zero bytes, see `Hole`. Used only if the `Features` of the receiving side permit it.
    case hole = 3

    /// Most bytes of a `data` body in this encoding.
    var limit: Int {
        switch self {
        case .stored, .zlib: Limits.dataBody
        case .zstd: Limits.zstdBody
        case .hole: Hole.bodySize
        }
    }
}

/// The 7 bytes before every body, or 15 if the body has 65,535 bytes or more.
///
/// | offset | size | field |
/// |---|---|---|
/// | 0 | 2 | version |
/// | 2 | 2 | function code |
/// | 4 | 1 | compress flag |
/// | 5 | 2 | length of the body; 0xFFFF: the length follows as 8 bytes |
package struct FrameHeader: Equatable, Sendable {
    package static let version: UInt16 = 2

    /// Name of the protocol in TLS (ALPN, RFC 7301).
    package static let protocolName = "transfer/\(version)"

    package static let shortSize = 7
    package static let extendedSize = 15

    /// Value of the short length if the extended length follows.
    package static let extendedMarker = UInt16.max

    package let function: FunctionCode
    package let encoding: BodyEncoding

    /// Bytes of the body on the wire.
    package let bodyLength: Int

    package init(_ function: FunctionCode, encoding: BodyEncoding = .stored, bodyLength: Int) {
        self.function = function
        self.encoding = encoding
        self.bodyLength = bodyLength
    }

    /// Bytes of the encoded header, `shortSize` or `extendedSize`.
    package var encodedSize: Int { Self.encodedSize(bodyLength: bodyLength) }

    package static func encodedSize(bodyLength: Int) -> Int {
        bodyLength < Int(extendedMarker) ? shortSize : extendedSize
    }

    package func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: Self.version)
        bytes.append(bigEndian: function.rawValue)
        bytes.append(encoding.rawValue)
        if bodyLength < Int(Self.extendedMarker) {
            bytes.append(bigEndian: UInt16(truncatingIfNeeded: bodyLength))
        } else {
            bytes.append(bigEndian: Self.extendedMarker)
            bytes.append(bigEndian: UInt64(bodyLength))
        }
    }

    /// Decodes the header at the beginning of `bytes`.
    ///
    /// - Returns: nil if the header is not complete.
    /// - Throws: `unsupportedVersion`, `unsupportedFunction`, `malformedFrame` or `frameTooLarge`. Another version is
    ///   refused after its two bytes, because its headers may be shorter. Everything else is refused once the header is
    ///   complete.
    package static func decode(_ bytes: RawSpan) throws(ProtocolFault) -> FrameHeader? {
        guard bytes.byteCount >= 2 else { return nil }
        let version = bytes.bigEndian(at: 0, as: UInt16.self)
        guard version == Self.version else {
            // These are the first two bytes of a TLS handshake record (RFC 8446, section 5.1).
            guard version != 0x1603 else {
                throw ProtocolFault(.unsupportedVersion, "This side doesn't use TLS; connect with --plaintext.")
            }
            throw ProtocolFault(
                .unsupportedVersion, "This side speaks version \(Self.version); the frame is of version \(version).",
                opening: bytes.prefix(ProtocolFault.openingSize))
        }
        guard bytes.byteCount >= shortSize else { return nil }
        let number = bytes.bigEndian(at: 2, as: UInt16.self)
        guard let function = FunctionCode(rawValue: number) else {
            throw ProtocolFault(.unsupportedFunction, "The function code \(number) is not supported.")
        }
        guard let encoding = BodyEncoding(rawValue: bytes.bigEndian(at: 4, as: UInt8.self)) else {
            throw ProtocolFault(.malformedFrame, "The compress flag must be 0, 1, 2 or 3.")
        }
        guard encoding == .stored || function == .data else {
            throw ProtocolFault(.malformedFrame, "Only data frames may be compressed.")
        }
        guard let length = try bodyLength(bytes) else { return nil }
        guard encoding != .hole || length == UInt64(Hole.bodySize) else {
            throw .malformed("The body of a hole must have \(Hole.bodySize) bytes.")
        }
        let limit = function == .data ? encoding.limit : Limits.controlBody
        guard length <= UInt64(limit) else {
            throw ProtocolFault(
                .frameTooLarge, "The \(function) body has \(length) bytes; the limit is \(limit).")
        }
        return FrameHeader(function, encoding: encoding, bodyLength: Int(length))
    }

    private static func bodyLength(_ bytes: RawSpan) throws(ProtocolFault) -> UInt64? {
        let short = bytes.bigEndian(at: 5, as: UInt16.self)
        guard short == extendedMarker else { return UInt64(short) }
        guard bytes.byteCount >= extendedSize else { return nil }
        let length = bytes.bigEndian(at: shortSize, as: UInt64.self)
        guard length >= UInt64(extendedMarker) else {
            throw ProtocolFault(.malformedFrame, "A body of \(length) bytes must use the short length.")
        }
        return length
    }
}
