internal import Glibc

/// Finds the delimiter in content: CR LF, two hyphens and the boundary.
///
/// The delimiter contains its first byte only once, because a boundary has no CR. If a partial match fails, no other
/// match can begin within the compared bytes, and the search continues behind them. So no content makes it examine a
/// byte twice.
struct DelimiterSearch: Sendable {
    enum Found: Equatable {
        /// The number of bytes before the delimiter.
        case delimiter(at: Int)
        /// The number of bytes that cannot belong to a delimiter. If there are further bytes, a delimiter may begin
        /// with them.
        case none(before: Int)
    }

    let delimiter: [UInt8]

    init(_ boundary: MultipartBoundary) {
        delimiter = [0x0D, 0x0A] + Array("--".utf8) + boundary.bytes
    }

    /// Whether the bytes begin with a boundary that has no line end before it; nil if there are too few bytes to
    /// decide.
    func atOnce(in bytes: RawSpan) -> Bool? {
        let boundary = delimiter.dropFirst(2)
        let shown = bytes.extracting(first: boundary.count).withUnsafeBytes { Array($0) }
        guard boundary.starts(with: shown) else { return false }
        return shown.count == boundary.count ? true : nil
    }

    /// Finds the first delimiter. At the beginning of the form, a delimiter may lack its line end.
    ///
    /// - Returns: the position where the delimiter ends.
    func first(in bytes: RawSpan) -> Found {
        switch atOnce(in: bytes) {
        case true?: return .delimiter(at: delimiter.count - 2)
        case nil: return .none(before: 0)
        case false?:
            let found = find(in: bytes)
            guard case .delimiter(let start) = found else { return found }
            return .delimiter(at: start + delimiter.count)
        }
    }

    /// Finds the first delimiter that begins with a line end.
    func find(in bytes: RawSpan) -> Found { bytes.withUnsafeBytes { find(in: $0) } }

    private func find(in bytes: UnsafeRawBufferPointer) -> Found {
        var place = 0
        while place < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[place...])
            guard let base = rest.baseAddress, let found = memchr(base, 0x0D, rest.count) else { break }
            let start = place + (UnsafeRawPointer(found) - base)
            let shown = min(delimiter.count, bytes.count - start)
            var same = 1
            while same < shown, bytes[start + same] == delimiter[same] { same += 1 }
            if same == delimiter.count { return .delimiter(at: start) }
            if same == bytes.count - start { return .none(before: start) }
            place = start + same
        }
        return .none(before: bytes.count)
    }
}
