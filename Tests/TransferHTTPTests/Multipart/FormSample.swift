import TransferHTTP

/// Results of a form reader with joined content, so that streams with different cuts can be compared.
enum FormEvent: Equatable {
    case part(name: String, filename: [UInt8]?, type: String?)
    case content([UInt8])
    case endOfPart
    case end
    case fault(Int)
}

enum FormSample {
    static let boundary = "AaB03x"

    static func bytes(_ text: String) -> [UInt8] { Array(text.replacing("\n", with: "\r\n").utf8) }

    /// A form with this boundary; `\n` stands for CR LF.
    static let simple = bytes(
        "--AaB03x\nContent-Disposition: form-data; name=\"submit-name\"\n\nLarry\n"
            + "--AaB03x\ncontent-disposition:form-data; name=\"files\"; filename=\"file1.txt\"\n"
            + "Content-Type: text/plain\n\n"
            + "... contents of file1.txt ...\n\n--AaB03\n\r\r\n-\n--AaB0\n--AaB03x--\n")

    /// Feeds the bytes up to each of the cuts, then the rest.
    static func events(_ bytes: [UInt8], cutAt cuts: [Int] = [], boundary: String = boundary) -> [FormEvent] {
        guard let boundary = MultipartBoundary(boundary) else { return [] }
        var reader = MultipartReader(boundary: boundary)
        var (events, start): ([FormEvent], Int) = ([], 0)
        do throws(HTTPFault) {
            for end in cuts + [bytes.count] {
                let isLast = end == bytes.count
                while true {
                    let progress = try reader.next(bytes[start..<max(start, end)].span.bytes, isLast: isLast)
                    if progress.step == .needsMore { break }
                    add(progress.step, of: bytes[start...], to: &events)
                    start += progress.consumed
                    if progress.step == .end { return events + (start == bytes.count ? [] : [.fault(0)]) }
                }
            }
        } catch {
            events.append(.fault(error.status))
        }
        return events
    }

    private static func add(_ step: MultipartStep, of bytes: ArraySlice<UInt8>, to events: inout [FormEvent]) {
        switch step {
        case .needsMore: break
        case .part(let part):
            events.append(.part(name: part.name, filename: part.filename, type: part.contentType?.essence))
        case .content(let range):
            let piece = bytes.dropFirst(range.lowerBound).prefix(range.count)
            if case .content(let before)? = events.last {
                events[events.count - 1] = .content(before + piece)
            } else {
                events.append(.content(Array(piece)))
            }
        case .endOfPart: events.append(.endOfPart)
        case .end: events.append(.end)
        }
    }
}
