import Glibc
import TransferIO
import TransferIntake
import TransferSystem

/// A copy of a directory keeps what was acknowledged in the original: its files are read again, beside all else.
extension ServerCore {
    /// Nanoseconds between two steps where there is nothing to be done now.
    private static let pause: Int64 = 1_000_000_000

    /// Adopts on a thread of its own until all is adopted, or the server is over. It costs nothing where nothing is to be adopted.
    func adopt() {
        guard intake.adoption.isOpen else { return }
        do throws(SystemError) {
            try startThread(name: "transfer-adopt") { [weak self] in
                while let pause = self?.adoptSome() { sleepFor(nanoseconds: pause) }
            }
        } catch {
            // What clients ask for is adopted all the same, and the next server goes on.
            observability.log.write([.notAdopting(error)])
        }
    }

    /// - Returns: nanoseconds to wait before the next step; nil when that was the last.
    private func adoptSome() -> Int64? {
        var pace = ReadPace()
        let step = intake.adoption.step { [observability] count in
            let pause = pace.pause(after: count, isShared: { !observability.connections.all.isEmpty })
            sleepFor(nanoseconds: pause)
        }
        return switch step {
        case .more: 0
        case .wait: Self.pause
        case .over: nil
        }
    }
}

/// How fast files are read that no client waits for: half of the time where there are clients, so that they have at least the other
/// half of the disk.
struct ReadPace {
    /// Bytes between two pauses.
    private static let stride = 4 << 20

    /// Nanoseconds of the longest pause: a disk that stands still for others must not stop all reading.
    private static let longest: Int64 = 500_000_000

    private var bytes = 0
    private var since: Int64

    init(now: Int64 = monotonicNanoseconds()) { since = now }

    /// - Parameter isShared: whether there are clients; asked only where a pause is due.
    /// - Returns: nanoseconds to wait.
    mutating func pause(after count: Int, now: Int64 = monotonicNanoseconds(), isShared: () -> Bool) -> Int64 {
        bytes += count
        guard bytes >= Self.stride else { return 0 }
        let took = min(max(0, now - since), Self.longest)
        let pause = isShared() ? took : 0
        (bytes, since) = (0, now + pause)
        return pause
    }
}

private func sleepFor(nanoseconds: Int64) {
    guard nanoseconds > 0 else { return }
    var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    nanosleep(&time, nil)
}
