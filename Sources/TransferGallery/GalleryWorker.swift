import Glibc
import TransferModel
import TransferSystem

/// The work of a gallery's thread: hands orders to the helper, and takes the reports of decoders.
final class GalleryWorker {
    /// An order that a decoder works on.
    private struct Running {
        let order: ThumbnailOrder
        /// Memory that the decoder writes its report into.
        let memory: DescriptorChannel.Passed
    }

    private let gallery: Gallery
    private let channel: DescriptorChannel
    private var running: [UInt32: Running] = [:]
    private var number: UInt32 = 0

    /// - Returns: nil if the gallery has no helper.
    init?(_ gallery: Gallery) {
        guard let channel = gallery.channel.withLock({ $0 }) else {
            gallery.stop(Self.gone)
            return nil
        }
        (self.gallery, self.channel) = (gallery, channel)
    }

    private static let gone = "Pictures cannot be decoded until the server is started again."

    /// Works until the gallery is closed or the helper has ended.
    func run() {
        while !gallery.waiting.withLock({ $0.isClosed }) {
            startOrders()
            wait()
            gallery.bell.take()
            guard takeEnds() else {
                gallery.channel.withLock { $0 = nil }
                if !gallery.waiting.withLock({ $0.isClosed }) { gallery.warn(.helperEnded) }
                break
            }
        }
        gallery.stop(Self.gone)
    }

    private func wait() {
        var entries = [channel.number, gallery.bell.number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        _ = poll(&entries, nfds_t(entries.count), -1)
    }

    // MARK: Orders

    private func startOrders() {
        while running.count < gallery.settings.decoders, let order = nextOrder() {
            start(order)
        }
        // What cannot be kept is not worth finding out.
        guard running.isEmpty, let background = gallery.background, gallery.keeps else { return }
        while running.isEmpty, let (source, side) = background.next() {
            guard gallery.find(source.key, side) == nil else { continue }
            start(ThumbnailOrder(source, side))
        }
    }

    /// The next order that is still wanted.
    private func nextOrder() -> ThumbnailOrder? {
        gallery.waiting.withLock { waiting in
            while let order = waiting.queue.next() {
                if order.isWanted { return order }
            }
            return nil
        }
    }

    private func start(_ order: ThumbnailOrder) {
        order.start()
        let source = order.source
        repeat { number &+= 1 } while running[number] != nil
        do throws(SystemError) {
            let memory = DescriptorChannel.Passed(try fixedMemoryFile(size: PictureReport.mostBytes))
            let job = DecoderJob(number: number, PictureDecoder(size: source.size, side: order.side?.rawValue))
            try channel.send(job.bytes, [source.file.number, memory.number])
            running[number] = Running(order: order, memory: memory)
        } catch {
            order.settle(.unavailable("The picture cannot be decoded now: \(error.reason)."))
        }
    }

    // MARK: Reports

    /// - Returns: whether the helper is still there.
    private func takeEnds() -> Bool {
        while true {
            guard let arrival = try? channel.receive(upTo: DecoderEnd.length) else { return false }
            switch arrival {
            case .nothing: return true
            case .end: return false
            case .message(let bytes, _):
                guard let end = DecoderEnd(bytes) else { return false }
                if let job = running.removeValue(forKey: end.number) { finish(job, end.way) }
            }
        }
    }

    private func finish(_ job: Running, _ way: DecoderEnd.Way) {
        let order = job.order
        let report: PictureReport
        switch way {
        case .unavailable, .stopped:
            if way == .unavailable { gallery.warn(.notStarted) }
            return order.settle(.unavailable("The picture cannot be decoded now."))
        case .reported:
            let side = order.side?.rawValue
            // A decoder that writes nonsense was taken over by its picture.
            report = PictureReport(untrusted: job.memory.content, side: side) ?? PictureReport(refusal: .failed)
        case .failed: report = PictureReport(refusal: .failed)
        }
        // What a decoder has seen of a file that was changed meanwhile says nothing about the content that the key stands for.
        if order.source.isUnchanged { gallery.cache(makes: true)?.add(report, order.source.key, order.side) }
        order.settle(.report(report))
    }

}

extension DescriptorChannel.Passed {
    /// The bytes of a report, and whatever is behind them.
    fileprivate var content: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: PictureReport.mostBytes) { buffer, count in
            count = max(0, pread(number, buffer.baseAddress, buffer.count, 0))
        }
    }
}
