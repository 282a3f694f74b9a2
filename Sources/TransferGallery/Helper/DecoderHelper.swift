import Glibc
import TransferModel
import TransferSystem

/// The process that starts decoders, because a confined server cannot start programs. It has one thread, and never reads a byte of a
/// picture. It ends when its server does.
struct DecoderHelper {
    /// The environment variable that makes a process a helper.
    static let variable = "TRANSFER_DECODER_HELPER"

    /// Most messages that a server sends before it has received an end for one of them.
    static let mostJobs = 64

    /// Nanoseconds after which a decoder is killed: the limit on the processor's time does not stop one that waits.
    static let patience: Int64 = 60_000_000_000

    /// Milliseconds between two looks whether processes have ended, where the kernel does not tell.
    private static let pause: Int64 = 5

    private struct Running {
        let number: UInt32
        let process: ChildProcess
        /// Readable when the process has ended; nil on Linux before 5.3.
        let end: DescriptorChannel.Passed?
        let deadline: Int64
        var isLate = false
    }

    private let channel: DescriptorChannel
    private let program: [String]
    private let environment: [String]
    private let patience: Int64
    private var running: [Running] = []

    /// - Parameters:
    ///   - channel: to the server.
    ///   - program: the decoder, and its arguments.
    ///   - environment: of decoders, as `NAME=VALUE`.
    init(
        _ channel: DescriptorChannel, program: [String] = [ChildProcess.program, "decoder"],
        environment: [String], patience: Int64 = Self.patience
    ) {
        (self.channel, self.program, self.environment, self.patience) = (channel, program, environment, patience)
    }

    /// Serves until the server has closed its end.
    mutating func serve() {
        var isOpen = true
        while isOpen {
            wait()
            isOpen = takeJobs()
            endLate()
            reap()
        }
        for job in running { job.process.send(SIGKILL) }
    }

    private func wait() {
        var entries = running.compactMap(\.end).map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
        entries.append(pollfd(fd: channel.number, events: Int16(POLLIN), revents: 0))
        let next = running.lazy.filter { !$0.isLate }.map(\.deadline).min()
        var left = next.map { max(0, $0 - monotonicNanoseconds()) / 1_000_000 + 1 } ?? -1
        if running.contains(where: { $0.end == nil }) { left = Self.pause }
        _ = poll(&entries, nfds_t(entries.count), Int32(clamping: left))
    }

    /// - Returns: whether the server is still there.
    private mutating func takeJobs() -> Bool {
        while true {
            guard let arrival = try? channel.receive(upTo: DecoderJob.length) else { return false }
            switch arrival {
            case .nothing: return true
            case .end: return false
            case .message(let bytes, let descriptors):
                guard let job = DecoderJob(bytes) else { return false }
                guard descriptors.count == 2, running.count < Self.mostJobs, let started = start(job, descriptors)
                else {
                    tell(DecoderEnd(number: job.number, .unavailable))
                    continue
                }
                running.append(started)
            }
        }
    }

    private func start(_ job: DecoderJob, _ descriptors: [DescriptorChannel.Passed]) -> Running? {
        do throws(SystemError) {
            let process = try ChildProcess(
                running: program, environment: environment + ["\(PictureDecoder.variable)=\(job.decoder.text)"],
                descriptors: descriptors.map(\.number))
            var end: DescriptorChannel.Passed?
            do throws(SystemError) { end = DescriptorChannel.Passed(try process.openEnd()) } catch { end = nil }
            return Running(
                number: job.number, process: process, end: end, deadline: monotonicNanoseconds() + patience)
        } catch {
            return nil
        }
    }

    private mutating func endLate() {
        let now = monotonicNanoseconds()
        for place in running.indices where !running[place].isLate && running[place].deadline <= now {
            running[place].isLate = true
            running[place].process.send(SIGKILL)
        }
    }

    private mutating func reap() {
        running = running.filter { job in
            guard let end = job.process.end() else { return true }
            tell(DecoderEnd(number: job.number, Self.way(end, isLate: job.isLate)))
            return false
        }
    }

    private static func way(_ end: ChildProcess.End, isLate: Bool) -> DecoderEnd.Way {
        switch end {
        case .exited(0): .reported
        case .exited: .unavailable
        // The machine may have no memory left, and a disk or another machine may not give back what it has stored.
        case .killed(by: SIGKILL), .killed(by: SIGBUS): .stopped
        case .killed: isLate ? .stopped : .failed
        }
    }

    /// The server reads often enough that the message has room.
    private func tell(_ end: DecoderEnd) { try? channel.send(end.bytes) }
}
