import TransferModel

/// The format and the size of a picture, as its header says.
public struct Picture: Sendable, Equatable {
    /// How it is written.
    public enum Format: String, Sendable, CaseIterable {
        /// Portable Network Graphics.
        case png
        /// JPEG.
        case jpeg
        /// Graphics Interchange Format.
        case gif
        /// WebP.
        case webp
    }

    /// How it is written.
    public let format: Format

    /// Pixels, as they are stored: what turns a photo upright when it is shown is not looked at.
    public let width: Int

    /// Pixels.
    public let height: Int
}

extension Picture {
    /// Bytes from the front of the content that are looked at. Cameras put a preview and a description of up to 64 KiB each
    /// before the size of a JPEG.
    static let farthest = 256 << 10

    /// Reads as much of the front as it takes.
    init?(_ reader: ContentReader) {
        let found = [ContentKind.sampleSize, Self.farthest].lazy.compactMap { count in
            reader.front(count).withUnsafeBytes { Picture($0) }
        }.first
        guard let found else { return nil }
        self = found
    }

    /// Reads the header.
    ///
    /// - Parameter content: the front of it, as much as there is.
    /// - Returns: nothing when it is none of the formats, or says no size, or not so early.
    package init?(_ content: UnsafeRawBufferPointer) {
        let header = PictureHeader(content)
        let found = header.png ?? header.gif ?? header.webp ?? header.jpeg
        guard let (format, width, height) = found, width > 0, height > 0 else { return nil }
        self.init(format: format, width: width, height: height)
    }
}
