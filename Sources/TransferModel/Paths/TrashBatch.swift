/// A batch: one folder of the trash, with files that were removed together. Its name has the time and a number that
/// distinguishes it from other batches of the same second, such as `2026-01-31T12-30-05Z-0a1b2c3d`.
package struct TrashBatch: Hashable, Sendable {
    package let name: String

    /// - Parameters:
    ///   - moment: UTC, in nanoseconds since 1970.
    ///   - number: any number, written in eight hexadecimal digits.
    package init(at moment: Int64, number: UInt32) {
        let second = UTCTime(clamping: moment / 1_000_000_000).seconds
        let digits = String(number, radix: 16)
        name =
            Timestamp(seconds: second, nanoseconds: 0).text(.seconds, .name) + "-"
            + String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }

    /// Makes a batch that begins at this time. The number in its name consists of the microsecond and 12 random bits,
    /// so that a later batch has a greater name even within a second.
    ///
    /// - Parameter moment: UTC, in nanoseconds since 1970.
    package static func begun(at moment: Int64) -> TrashBatch {
        let microsecond = UInt32(truncatingIfNeeded: max(0, moment) % 1_000_000_000 / 1_000)
        return TrashBatch(at: moment, number: microsecond << 12 | .random(in: 0..<1 << 12))
    }

    /// Size of a name in bytes.
    static let length = 20 + 1 + 8

    /// Pattern of the time in a name: `0` stands for any digit.
    private static let pattern = Array("0000-00-00T00-00-00Z-".utf8)

    /// Reads a name from a request, the catalog or the directory.
    ///
    /// - Returns: nil for any other text.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == Self.length else { return nil }
        for (byte, wanted) in zip(bytes, Self.pattern) {
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            guard wanted == UInt8(ascii: "0") ? isDigit : byte == wanted else { return nil }
        }
        let isNumber = bytes[Self.pattern.count...].allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard isNumber else { return nil }
        name = text
    }

    /// Reads the name at the beginning of a text.
    package init?(leading bytes: some Collection<UInt8>) {
        self.init(String(decoding: bytes.prefix(Self.length), as: UTF8.self))
    }

    /// The batch of a path in the trash; nil for any other path.
    package init?(of place: RelativePath) {
        let folder = "\(RelativePath.trashFolder.string)/"
        guard place.string.utf8.starts(with: folder.utf8) else { return nil }
        self.init(leading: place.string.utf8.dropFirst(folder.utf8.count))
    }

    /// Time at which the batch was begun; nil if its name has an impossible date.
    package var moment: UTCTime? { UTCTime(time) }

    /// The time in the name, in the usual form: `2026-01-31T12:30:05Z`.
    package var time: String {
        var bytes = Array(name.utf8.prefix(20))
        for index in [13, 16] where bytes.indices.contains(index) { bytes[index] = UInt8(ascii: ":") }
        return String(decoding: bytes, as: UTF8.self)
    }
}
