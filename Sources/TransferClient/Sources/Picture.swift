import TransferModel

/// The format and the size of a picture, according to its header.
public struct Picture: Sendable, Equatable {
    /// The file format of a picture.
    public enum Format: String, Sendable, CaseIterable {
        /// Portable Network Graphics, read from its IHDR chunk.
        case png
        /// JPEG, read from its frame header.
        case jpeg
        /// Graphics Interchange Format, 87a or 89a.
        case gif
        /// WebP: simple, lossless or extended.
        case webp
    }

    /// The file format that the header shows.
    public let format: Format

    /// Pixels as they are stored: the orientation in a photo's metadata is ignored.
    public let width: Int

    /// Pixels as they are stored, like `width`.
    public let height: Int
}

extension Picture {
    /// Bytes at the beginning of the content that are searched. Cameras put a preview and a description of up to 64 KiB
    /// each before the size of a JPEG.
    static let farthest = 256 << 10

    /// Reads as much of the beginning as is needed.
    init?(_ reader: ContentReader) {
        let found = [ContentKind.sampleSize, Self.farthest].lazy.compactMap { count in
            reader.front(count).withUnsafeBytes { Picture($0) }
        }.first
        guard let found else { return nil }
        self = found
    }

    /// Reads the header of a picture.
    ///
    /// - Parameter content: the beginning of the content.
    /// - Returns: nil if the format is unknown, or if the size is missing or comes later.
    package init?(_ content: UnsafeRawBufferPointer) {
        let header = PictureHeader(content)
        let found = header.png ?? header.gif ?? header.webp ?? header.jpeg
        guard let (format, width, height) = found, width > 0, height > 0 else { return nil }
        self.init(format: format, width: width, height: height)
    }
}
