import TransferCodec
import TransferModel

/// One line of a watch's journal: the path of an acknowledged file, with size and modification time, after eight digits
/// of the XXH3 of the rest, so that an incomplete or damaged line is recognised.
enum JournalLine {
    /// The first line of every journal; it contains the format's version.
    static let header: [UInt8] = Array("transfer watch 1\n".utf8)

    private static let sumSize = 8
    private static let space = UInt8(ascii: " ")
    private static let end = UInt8(ascii: "\n")
    private static let escape = UInt8(ascii: "\\")

    static func write(_ path: PathKey, _ file: KnownFiles.File) -> [UInt8] {
        var rest = Array(" \(file.size) \(file.modified.seconds) \(file.modified.nanoseconds) ".utf8)
        for byte in path.string.utf8 {
            switch byte {
            case end: rest += [escape, UInt8(ascii: "n")]
            case escape: rest += [escape, escape]
            default: rest.append(byte)
            }
        }
        return sum(rest) + rest + [end]
    }

    /// - Parameter line: the line without its newline.
    /// - Returns: nil if `write` has not made the line.
    static func read(_ line: ArraySlice<UInt8>) -> (path: PathKey, file: KnownFiles.File)? {
        let rest = line.dropFirst(sumSize)
        guard line.count > sumSize, rest.first == space, Array(line.prefix(sumSize)) == sum(Array(rest)) else {
            return nil
        }
        let fields = rest.dropFirst().split(separator: space, maxSplits: 3, omittingEmptySubsequences: false)
        guard fields.count == 4, let size = UInt64(text(fields[0])), let seconds = Int64(text(fields[1])),
            let nanoseconds = UInt32(text(fields[2])), nanoseconds < 1_000_000_000, let path = path(fields[3])
        else { return nil }
        let modified = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
        return (PathKey(path), KnownFiles.File(size: size, modified: modified))
    }

    private static func sum(_ rest: [UInt8]) -> [UInt8] {
        let digest = rest.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
        return Array(String(hexadecimal: digest.prefix(sumSize / 2)).utf8)
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func path(_ bytes: ArraySlice<UInt8>) -> String? {
        var path: [UInt8] = []
        var isEscaped = false
        for byte in bytes {
            switch (isEscaped, byte) {
            case (true, UInt8(ascii: "n")): path.append(end)
            case (true, escape): path.append(escape)
            case (true, _): return nil
            case (false, escape): break
            case (false, _): path.append(byte)
            }
            isEscaped = !isEscaped && byte == escape
        }
        return isEscaped || path.isEmpty ? nil : String(validating: path, as: UTF8.self)
    }
}
