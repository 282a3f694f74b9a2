internal import TransferModel

/// The 7 bytes in front of each message of `header7`, big-endian: version, function code, compression, length of the body.
struct Header7Header: Equatable {
    /// The only version of this header; version 2 is the frames of `docs/reference/protocol.md`.
    static let version: UInt16 = 1

    /// The size of the header in bytes.
    static let size = 7

    let function: MessageFunction
    let isCompressed: Bool
    /// Bytes of the body on the wire.
    let length: UInt16

    init(_ function: MessageFunction, isCompressed: Bool, length: UInt16) {
        (self.function, self.isCompressed, self.length) = (function, isCompressed, length)
    }

    /// Reads the header at the front of the bytes.
    ///
    /// - Returns: nil until it is complete.
    /// - Throws: `unsupportedVersion`, `unsupportedFunction`, and `malformedFrame` for an unknown compression.
    init?(_ bytes: RawSpan) throws(ClassicFault) {
        guard bytes.byteCount >= Self.size else { return nil }
        let version = bytes.bigEndian(at: 0, as: UInt16.self)
        guard version == Self.version else {
            throw ClassicFault(
                .unsupportedVersion, "The version is \(version); only version \(Self.version) is supported.")
        }
        let number = bytes.bigEndian(at: 2, as: UInt16.self)
        guard let function = MessageFunction(rawValue: number) else { throw .unknown(function: UInt32(number)) }
        let compression = bytes.bigEndian(at: 4, as: UInt8.self)
        guard compression <= 1 else {
            throw ClassicFault(.malformedFrame, "The compression is \(compression); it must be 0 or 1.")
        }
        self.init(function, isCompressed: compression == 1, length: bytes.bigEndian(at: 5, as: UInt16.self))
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: Self.version)
        bytes.append(bigEndian: function.rawValue)
        bytes.append(isCompressed ? 1 : 0)
        bytes.append(bigEndian: length)
    }
}

extension ClassicFault {
    static func unknown(function number: UInt32) -> ClassicFault {
        ClassicFault(.unsupportedFunction, "The function \(number) is not supported.")
    }
}
