package import TransferCodec
import TransferConnection
import TransferProtocol

/// What a step of a worker does with the content that it sends, and what came of that.
package struct AnswerCompression: Sendable {
    /// Bytes of content of one file in a chunk, however small they become: some 8 ms of a thread.
    private static let mostContent = 1 << 20

    private let choice: CompressionGovernor.Choice
    private let compressors: CompressorPool

    /// What the methods did that were to be measured.
    package private(set) var figures: [CompressionFigures] = []

    /// Bytes of content that were to be compressed, and what they take now.
    package private(set) var (before, after) = (0, 0)

    init(_ choice: CompressionGovernor.Choice, _ compressors: CompressorPool) {
        (self.choice, self.compressors) = (choice, compressors)
    }

    /// Bytes of content that another data frame is worth, and may hold.
    func contentSizes(in chunk: FrameChunk, usual: (least: Int, most: Int)) -> (least: Int, most: Int) {
        guard case .compress = choice else { return usual }
        guard chunk.contentCount < Self.mostContent else { return (usual.most, 0) }
        // What is left of a chunk is no place for a frame that would be far larger in another.
        return (chunk.contentCount > 0 ? FrameCompressor.mostContent : usual.least, FrameCompressor.mostContent)
    }

    /// Compresses the data frame that was just appended to the chunk, or measures what that would have done.
    mutating func apply(to content: UnsafeRawBufferPointer, in chunk: FrameChunk) {
        switch choice {
        case .plain: break
        case .plainMeasuring(let methods, let bytes):
            if figures.isEmpty { figures = compressors.measure(methods, with: content, bytes: bytes) }
        case .compress(let method):
            before += content.count
            after += compressors.lend(method) { compressor in
                guard let body = compressor.compress(content) else { return content.count }
                chunk.replaceData(by: body, method.format.encoding)
                return body.count
            }
        }
    }
}
