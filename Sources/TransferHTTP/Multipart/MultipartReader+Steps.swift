extension MultipartReader {
    /// Finds the first boundary, at the beginning of the form or of a line.
    mutating func preamble(_ bytes: RawSpan, _ isLast: Bool) throws(HTTPFault) {
        let place: Int
        switch search.first(in: bytes) {
        case .delimiter(let end): place = end
        case .none(let count):
            guard count <= MultipartLimits.surroundings else { throw Self.tooMuchAround }
            return
        }
        guard place - search.delimiter.count <= MultipartLimits.surroundings else { throw Self.tooMuchAround }
        switch try tail(bytes, at: place, isLast) {
        case .unknown: break
        case .part(let end): state = .head(offset: end, searched: 0)
        case .last(let end): state = .epilogue(offset: end)
        }
    }

    private static let tooMuchAround = HTTPFault(
        400,
        "More than \(MultipartLimits.surroundings) bytes precede the first boundary or follow the last."
    )

    mutating func head(_ bytes: RawSpan, _ offset: Int, _ searched: Int) throws(HTTPFault) -> MultipartProgress {
        let shown = bytes.extracting(droppingFirst: offset).extracting(first: MultipartLimits.head)
        guard !shown.starts(with: [0x0D, 0x0A]) else { throw HTTPFault(400, "A part has no head.") }
        guard let end = shown.end(of: [0x0D, 0x0A, 0x0D, 0x0A], from: searched) else {
            guard shown.byteCount < MultipartLimits.head else {
                throw HTTPFault(413, "The head of a part has more than \(MultipartLimits.head) bytes.")
            }
            // The end of the head may begin in the last three bytes.
            state = .head(offset: offset, searched: max(0, shown.byteCount - 3))
            return MultipartProgress(.needsMore)
        }
        guard parts < MultipartLimits.parts else {
            throw HTTPFault(413, "The form has more than \(MultipartLimits.parts) parts.")
        }
        let part = try MultipartPart(head: shown.extracting(first: end - 2).withUnsafeBytes { Array($0) })
        parts += 1
        state = .contentStart
        return MultipartProgress(.part(part), consumed: offset + end)
    }

    /// Reports content, and a boundary only if the bytes after it are known: otherwise the caller would end a part
    /// although the next bytes may show that it continues, or that the form is malformed.
    mutating func content(_ bytes: RawSpan, _ isLast: Bool) throws(HTTPFault) -> MultipartProgress {
        if case .contentStart = state {
            switch search.atOnce(in: bytes) {
            case true?: throw HTTPFault(400, "A boundary directly follows the head of a part.")
            case nil: return MultipartProgress(.needsMore)
            case false?: state = .content
            }
        }
        switch search.find(in: bytes) {
        case .delimiter(at: 0):
            switch try tail(bytes, at: search.delimiter.count, isLast) {
            case .unknown: return MultipartProgress(.needsMore)
            case .part(let end):
                state = .head(offset: 0, searched: 0)
                return MultipartProgress(.endOfPart, consumed: end)
            case .last(let end):
                state = .epilogue(offset: 0)
                return MultipartProgress(.endOfPart, consumed: end)
            }
        case .none(before: 0): return MultipartProgress(.needsMore)
        case .delimiter(at: let count), .none(before: let count):
            return MultipartProgress(.content(0..<count), consumed: count)
        }
    }

    mutating func epilogue(_ bytes: RawSpan, _ offset: Int, _ isLast: Bool) throws(HTTPFault) -> MultipartProgress {
        guard bytes.byteCount - offset <= MultipartLimits.surroundings else { throw Self.tooMuchAround }
        guard isLast else { return MultipartProgress(.needsMore) }
        state = .over
        return MultipartProgress(.end, consumed: bytes.byteCount)
    }
}

// MARK: Behind a boundary

extension MultipartReader {
    private enum Tail {
        /// More bytes are needed to decide.
        case unknown
        /// Another part begins at this position.
        case part(at: Int)
        /// The epilogue begins at this position.
        case last(at: Int)
    }

    /// Reads what follows a boundary: CR LF, two hyphens and CR LF, or two hyphens at the end of the form.
    private func tail(_ bytes: RawSpan, at place: Int, _ isLast: Bool) throws(HTTPFault) -> Tail {
        let shown = bytes.extracting(droppingFirst: place).extracting(first: 4).withUnsafeBytes { Array($0) }
        let (next, last): ([UInt8], [UInt8]) = ([0x0D, 0x0A], Array("--\r\n".utf8))
        if shown.starts(with: next) { return .part(at: place + next.count) }
        if shown == last { return .last(at: place + last.count) }
        if isLast, shown == last.dropLast(2) { return .last(at: place + shown.count) }
        guard next.starts(with: shown) || last.starts(with: shown) else {
            throw HTTPFault(400, "A line begins with the boundary and continues after it.")
        }
        return .unknown
    }
}

extension RawSpan {
    fileprivate func starts(with text: [UInt8]) -> Bool { withUnsafeBytes { $0.starts(with: text) } }

    /// Position of the end of a text; nil if it is not found.
    ///
    /// - Parameter start: position from which on the text is searched.
    fileprivate func end(of text: [UInt8], from start: Int) -> Int? {
        withUnsafeBytes { bytes in
            var place = start
            while bytes.count - place >= text.count {
                if bytes[place...].starts(with: text) { return place + text.count }
                place += 1
            }
            return nil
        }
    }
}
