internal import Glibc

/// Finds CR LF, two hyphens and the boundary in content.
///
/// Its first byte is in it only once, because a boundary has no CR. So where a beginning of it turns out to be none, no
/// other begins within the bytes that were compared, and the search goes on behind them: no content makes it look twice
/// at a byte.
struct DelimiterSearch: Sendable {
    enum Found: Equatable {
        /// So many bytes are in front of the delimiter.
        case delimiter(at: Int)
        /// So many bytes are no part of it; what is behind them may begin it, or nothing is.
        case none(before: Int)
    }

    let delimiter: [UInt8]

    init(_ boundary: MultipartBoundary) {
        delimiter = [0x0D, 0x0A] + Array("--".utf8) + boundary.bytes
    }

    /// Whether the bytes begin with a boundary that has no line end in front of it; nothing as long as they can.
    func atOnce(in bytes: RawSpan) -> Bool? {
        let boundary = delimiter.dropFirst(2)
        let shown = bytes.extracting(first: boundary.count).withUnsafeBytes { Array($0) }
        guard boundary.starts(with: shown) else { return false }
        return shown.count == boundary.count ? true : nil
    }

    /// Finds it at the front without its line end, or as elsewhere.
    ///
    /// - Returns: where it ends.
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

    /// Finds the first one.
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
