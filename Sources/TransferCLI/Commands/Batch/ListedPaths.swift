/// The paths in the list of `--files-from`, and the lines of that list that cannot be used as paths.
struct ListedPaths: Sequence, Sendable {
    private let paths: PathList

    /// Listed paths that contain a NUL byte or are not UTF-8, unchanged.
    let unusable: [[UInt8]]

    /// - Parameter key: the flag whose value names the list; without it, the list is empty.
    /// - Throws: `UsageError` if the list cannot be read.
    init(_ key: FlagKey<String?, Never>, _ arguments: ParsedArguments) throws(UsageError) {
        let list = arguments.isSet(key.flag) ? try BatchInput(key, arguments).bytes : []
        paths = PathList(list, isNullSeparated: arguments[ClientFlags.null])
        unusable = paths.lazy.filter { Self.text($0) == nil }.map { Array($0) }
    }

    /// Each path as it is listed, with the name under which it is stored.
    func makeIterator() -> AnyIterator<(path: String, name: String?)> {
        var paths = paths.makeIterator()
        return AnyIterator {
            while let bytes = paths.next() {
                guard let path = Self.text(bytes) else { continue }
                return (path, PathList.name(of: path))
            }
            return nil
        }
    }

    /// - Returns: nil if the bytes are not a valid path.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String? {
        bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
    }
}
