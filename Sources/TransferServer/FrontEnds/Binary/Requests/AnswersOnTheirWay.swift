/// Which of the bytes that wait for a client are content, and what was decided about them.
struct AnswersOnTheirWay {
    private struct Span {
        let bytes: Range<Int>
        let content: Int
        let epoch: Int
        var sent = 0
    }

    /// In the order in which they leave.
    private var spans: [Span] = []

    /// A chunk is appended.
    ///
    /// - Parameters:
    ///   - bytes: where it lies in all that was ever sent.
    ///   - content: bytes of content in it, taken as spread evenly.
    ///   - epoch: the governor's, when it decided about the chunk.
    mutating func append(_ bytes: Range<Int>, content: Int, epoch: Int) {
        guard content > 0, !bytes.isEmpty else { return }
        spans.append(Span(bytes: bytes, content: content, epoch: epoch))
    }

    /// All up to that place has left.
    ///
    /// - Returns: the content that has left since the last call.
    mutating func left(upTo place: Int) -> [(content: Int, epoch: Int)] {
        var left: [(content: Int, epoch: Int)] = []
        while let span = spans.first, place > span.bytes.lowerBound {
            let bytes = min(place, span.bytes.upperBound) - span.bytes.lowerBound
            // Trap: a chunk has some MiB of content in some hundred KiB.
            let content = span.content * bytes / span.bytes.count
            left.append((content - span.sent, span.epoch))
            spans[0].sent = content
            guard place >= span.bytes.upperBound else { break }
            spans.removeFirst()
        }
        return left
    }
}
