package import TransferModel

/// Asks for the content of a file.
package struct FetchRequest: Equatable, Sendable {
    package var id: UInt32

    /// Path of the file, which the server checks; empty if a delivery is fetched.
    package var path: String

    /// The delivery whose content is wanted; nil for a file with a path.
    package var delivery: UploadID?

    /// Hash function for the digests in the answer.
    package var digest: DigestFunction

    /// Number of bytes that the client already has, which must end at the start of a block. It may be above 0 only
    /// together with a version.
    package var offset: UInt64

    /// The version to which the offset refers. If the file has another version, the server sends it from its beginning.
    package var version: FileVersion?

    /// Number of bytes wanted from the offset on, which must be whole blocks. Permitted only together with a version;
    /// nil for all bytes.
    package var length: UInt64?

    package init(
        id: UInt32, path: String, digest: DigestFunction = .xxh128, offset: UInt64 = 0, version: FileVersion? = nil,
        length: UInt64? = nil, delivery: UploadID? = nil
    ) {
        self.delivery = delivery
        self.id = id
        self.path = path
        self.digest = digest
        self.offset = offset
        self.version = version
        self.length = length
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let version = Flags(rawValue: 1)
        static let length = Flags(rawValue: 2)
        static let all: Flags = [.version, .length]
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        let flags = Flags(rawValue: try reader.integer(UInt8.self))
        guard Flags.all.isSuperset(of: flags) else { throw .malformed("The fetch frame has unknown flags.") }
        let number = try reader.integer(UInt8.self)
        guard let digest = DigestFunction(rawValue: number) else {
            throw ProtocolFault(.unsupportedDigest, "The digest algorithm \(number) is not supported.")
        }
        self.digest = digest
        offset = try reader.integer(UInt64.self)
        guard offset % UInt64(Limits.blockSize) == 0 else {
            throw .malformed("A fetch must start at the beginning of a block.")
        }
        version = flags.contains(.version) ? try FileVersion(&reader) : nil
        length = flags.contains(.length) ? try reader.integer(UInt64.self) : nil
        guard offset == 0 && length == nil || version != nil else {
            throw .malformed("A fetch from an offset or of a part must name the version of the file.")
        }
        let end = length ?? 0
        guard end % UInt64(Limits.blockSize) == 0, length != 0,
            !offset.addingReportingOverflow(end).overflow
        else { throw .malformed("The length of a fetch must be one or more whole blocks.") }
        path = try reader.path()
        delivery = try reader.fields(known: [.delivery])[.delivery].map { (value) throws(ProtocolFault) in
            try value.span.bytes.withUnsafeBytes { (bytes) throws(ProtocolFault) in
                var reader = BodyReader(bytes)
                let id = try reader.uploadID()
                try reader.finish()
                return id
            }
        }
        guard delivery == nil || path.isEmpty else { throw .malformed("A fetch of a delivery must not name a path.") }
    }

    func encode(into bytes: inout [UInt8]) {
        var flags: Flags = []
        if version != nil { flags.insert(.version) }
        if length != nil { flags.insert(.length) }
        bytes.append(bigEndian: id)
        bytes.append(flags.rawValue)
        bytes.append(digest.rawValue)
        bytes.append(bigEndian: offset)
        version?.encode(into: &bytes)
        if let length { bytes.append(bigEndian: length) }
        bytes.append(path: path)
        if let delivery {
            var value: [UInt8] = []
            delivery.encode(into: &value)
            bytes.append(field: .delivery, value)
        }
    }
}
