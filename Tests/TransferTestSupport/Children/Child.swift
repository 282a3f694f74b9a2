import CSpawn
package import Glibc
import Synchronization

/// A program that a test has started, together with all that the program starts in its turn.
///
/// They share a pipe, the lifeline: it ends when the last of them has ended, whichever session or process group they have gone
/// to, and shows which of them are left. Releasing the object kills them, so a test that throws leaves none behind.
package final class Child: Sendable {
    /// How a process ended.
    package enum End: Equatable, Sendable {
        case exited(Int32)
        case killed(by: Int32)

        init(_ status: Int32) {
            // wait(2): the low seven bits are the signal, and none stands for an exit.
            self = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(by: status & 0x7F)
        }
    }

    /// Where a process holds its end of the lifeline: above the standard streams, and above what a shell lets a script use.
    package static let lifeline: Int32 = 9

    /// Seconds to wait for anything that a child does. It only ends what would wait for ever: far more than anything takes on a
    /// machine of one core that is busy, or under a sanitizer.
    package static let patience = 180

    package let process: pid_t
    private let name: String
    /// The end of the lifeline that nothing is read from.
    private let life: Int32
    private let end = Mutex<End?>(nil)

    package init(_ command: [String], _ launch: ChildLaunch) throws(ChildLaunch.Failure) {
        var ends: [Int32] = [-1, -1]
        guard cspawn_pipe(&ends) == 0 else { throw ChildLaunch.Failure(description: "pipe: errno \(errno)") }
        defer { close(ends[1]) }
        var launch = launch
        launch.descriptors[Self.lifeline] = ends[1]
        do throws(ChildLaunch.Failure) {
            process = try launch.start(command)
        } catch {
            close(ends[0])
            throw error
        }
        life = ends[0]
        name = command.joined(separator: " ")
    }

    deinit {
        endAll()
        close(life)
    }

    /// Whether all have ended, or do within some milliseconds.
    package func hasEnded(within milliseconds: Int32 = 0) -> Bool {
        var waiting = pollfd(fd: life, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, milliseconds) == 1
    }

    /// Waits until all have ended.
    ///
    /// - Returns: how the first of them ended.
    /// - Throws: when they do not: which they are, and where they wait. They have been killed then.
    @discardableResult
    package func wait(seconds: Int = patience) throws(ChildLaunch.Failure) -> End {
        guard hasEnded(seconds: seconds) else {
            let present = report()
            endAll()
            throw ChildLaunch.Failure(description: "'\(name)' did not end within \(seconds) s\n\(present)")
        }
        return reap()
    }

    /// Second by second, so that a machine that stands still for minutes costs one of them.
    package func hasEnded(seconds: Int) -> Bool {
        for _ in 0..<seconds where hasEnded(within: 1000) { return true }
        return hasEnded()
    }

    package func signal(_ number: Int32) {
        end.withLock { if $0 == nil { kill(process, number) } }
    }

    /// Those that are left, and where they wait.
    package func report() -> String {
        let left = members
        return left.isEmpty ? "no process is left" : left.map(ProcessReport.text).joined(separator: "\n")
    }

    /// Kills all of them and waits for their end.
    package func endAll() {
        signal(SIGKILL)
        _ = reap()
        // Many end with the first one by themselves, a moment later.
        guard !hasEnded(within: 100) else { return }
        // Again and again: one that has just been started is not seen at once.
        for _ in 0..<Self.patience {
            for process in members { kill(process, SIGKILL) }
            if hasEnded(within: 1000) { return }
        }
    }

    private func reap() -> End {
        end.withLock { end in
            if let end { return end }
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            let ended = End(status)
            end = ended
            return ended
        }
    }

    /// The processes that hold the lifeline.
    private var members: [pid_t] { ProcessReport.holders(ofPipe: life) }
}
