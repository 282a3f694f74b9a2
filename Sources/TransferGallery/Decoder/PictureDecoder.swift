import Glibc
import TransferPictures
import TransferSystem

/// The process that decodes one picture: it reads descriptor 0, writes a `PictureReport` to descriptor 1, and ends. It has no other
/// descriptor, and the kernel kills it if it does anything else (`Sandbox`).
struct PictureDecoder {
    /// The environment variable with what is wanted.
    static let variable = "TRANSFER_DECODER"

    /// Seconds of the processor that a picture may take. The largest allowed ones take 3, and six times that on a small machine.
    static let seconds = 20

    /// Bytes of memory that a picture may take besides its file: a progressive JPEG of 100 million pixels needs 300 MB.
    static let memory = 512 << 20

    /// Bytes that the file has.
    let size: Int

    /// Side of the thumbnail in pixels; nil if only the headers are wanted.
    let side: Int?

    init(size: Int, side: Int?) { (self.size, self.side) = (size, side) }

    /// The value of the variable.
    var text: String { "\(size) \(side ?? 0)" }

    /// - Returns: nil if the text is not a `text`.
    init?(_ text: String) {
        let numbers = text.split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 2, numbers[0] >= 0, numbers[1] == 0 || Thumbnail.sides.contains(numbers[1]) else {
            return nil
        }
        (size, side) = (numbers[0], numbers[1] == 0 ? nil : numbers[1])
    }

    /// Decodes the picture.
    ///
    /// - Returns: the exit code: 0 if the report is written, 1 if the process could not be confined.
    func run() -> Int32 {
        let mapped =
            size > 0 && size <= PictureLimits.fileSize ? mmap(nil, size, PROT_READ, MAP_PRIVATE, 0, 0) : MAP_FAILED
        let bytes = mapped == MAP_FAILED ? nil : mapped.map { UnsafeRawBufferPointer(start: $0, count: size) }
        // A confined process could not open it.
        let library = bytes.flatMap { side != nil && HEIFLibrary.isNeeded(for: $0) ? HEIFLibrary() : nil }
        if library != nil { HEIFLibrary.limitThreads() }
        let limits = Sandbox.Limits(
            memory: Self.memory, seconds: Self.seconds, output: PictureReport.mostBytes,
            allowsThreads: library != nil)
        guard (try? Sandbox.enter(limits)) != nil else { return 1 }
        let report: PictureReport
        if let bytes {
            report = self.report(bytes, library)
        } else {
            // A video, or a picture that is too large to be decoded. Its headers can be anywhere in it.
            let isTooLarge = side != nil && size > PictureLimits.fileSize
            report = headers(DescriptorSource(descriptor: 0, size: size), refusal: isTooLarge ? .tooLarge : nil)
        }
        do throws(SystemError) { try writeAll(report.bytes, to: 1) } catch { return 1 }
        return 0
    }

    private func report(_ bytes: UnsafeRawBufferPointer, _ library: HEIFLibrary?) -> PictureReport {
        guard let side else { return headers(MemorySource(bytes), refusal: nil) }
        do throws(PictureFault) {
            let made = try Thumbnail.make(from: bytes, side: side, by: library)
            var summary = PictureSummary(made.facts)
            let colour = made.averageColour
            summary.isDecoded = made.isWhole
            summary.colour = UInt32(colour.red) << 16 | UInt32(colour.green) << 8 | UInt32(colour.blue)
            return PictureReport(summary: summary, thumbnail: made.webP)
        } catch {
            return headers(MemorySource(bytes), refusal: PictureRefusal(error.code))
        }
    }

    private func headers(_ source: some PictureSource, refusal: PictureRefusal?) -> PictureReport {
        do throws(PictureFault) {
            var summary = PictureSummary(try PictureFacts(reading: source))
            if refusal == .damaged { summary.isDecoded = false }
            return PictureReport(summary: summary, refusal: refusal)
        } catch {
            return PictureReport(refusal: refusal ?? PictureRefusal(error.code))
        }
    }
}
