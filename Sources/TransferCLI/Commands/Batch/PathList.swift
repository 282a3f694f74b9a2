/// The paths of `--files-from`, in their order and without empty ones. Taken apart as they are wanted: a list can be long.
struct PathList: Sequence, Sendable {
    private let bytes: [UInt8]
    private let end: UInt8

    /// - Parameter isNullSeparated: whether a NUL byte ends each path, and not a line.
    init(_ bytes: [UInt8], isNullSeparated: Bool) {
        self.bytes = bytes
        end = isNullSeparated ? 0 : UInt8(ascii: "\n")
    }

    struct Iterator: IteratorProtocol {
        fileprivate var rest: ArraySlice<UInt8>
        fileprivate let end: UInt8

        mutating func next() -> ArraySlice<UInt8>? {
            while !rest.isEmpty {
                let path = rest.prefix { $0 != end }
                rest = rest.dropFirst(path.count + 1)
                if !path.isEmpty { return path }
            }
            return nil
        }
    }

    func makeIterator() -> Iterator { Iterator(rest: bytes[...], end: end) }

    /// What a listed path is stored under: what is behind the last `.` or `..` in it, so that it says itself how much of it
    /// is kept.
    ///
    /// - Returns: nothing when nothing is left, as of `..`: then the directory's own name counts.
    static func name(of path: String) -> String? {
        let components = path.utf8.split(separator: UInt8(ascii: "/"))
        let kept = components.reversed().prefix { !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }
        return kept.isEmpty ? nil : kept.reversed().map { String(Substring($0)) }.joined(separator: "/")
    }

    /// How a path is listed that is to be stored under a name.
    ///
    /// - Returns: nothing when the path doesn't end in the name.
    static func entry(for path: String, storedAs name: String) -> String? {
        if self.name(of: path).map({ $0.utf8.elementsEqual(name.utf8) }) ?? false { return path }
        let (bytes, tail) = (Array(path.utf8), Array("/\(name)".utf8))
        guard bytes.count >= tail.count, bytes.suffix(tail.count).elementsEqual(tail) else { return nil }
        return String(decoding: bytes.dropLast(tail.count), as: UTF8.self) + "/./" + name
    }
}
