import CSpawn
package import Glibc
import Synchronization

/// A program that a test has started, together with all that the program starts in its turn.
///
/// All these processes share a pipe, the lifeline. It ends when the last of them has ended, in whichever session or
/// process group, and shows which of them are left. Releasing the object kills them, so that a test that throws leaves
/// no process behind.
package final class Child: Sendable {
    /// How a process ended, by its status in wait(2).
    package enum End: Equatable, Sendable {
        case exited(Int32)
        case killed(by: Int32)

        init(_ status: Int32) {
            // The low seven bits are the signal; 0 stands for an exit.
            self = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(by: status & 0x7F)
        }
    }

    /// The number that the lifeline has in a child: above the standard streams, and above the numbers that a shell lets
    /// a script use.
    package static let lifeline: Int32 = 9

    /// Seconds to wait for any action of a child. The limit only ends a wait that would last for ever: it is far longer
    /// than any action takes on a busy machine with one core, or under a sanitizer.
    package static let patience = 180

    package let process: pid_t
    private let name: String
    /// The read end of the lifeline, which is only polled.
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

    /// Whether all processes have ended, or end within some milliseconds.
    package func hasEnded(within milliseconds: Int32 = 0) -> Bool {
        var waiting = pollfd(fd: life, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, milliseconds) == 1
    }

    /// Waits until all processes have ended.
    ///
    /// - Returns: how the first process ended.
    /// - Throws: if processes are left after `seconds`. The error lists them and where they wait, and they are killed.
    @discardableResult
    package func wait(seconds: Int = patience) throws(ChildLaunch.Failure) -> End {
        guard hasEnded(seconds: seconds) else {
            let present = report()
            endAll()
            throw ChildLaunch.Failure(description: "'\(name)' did not end within \(seconds) s\n\(present)")
        }
        return reap()
    }

    /// Waits second by second, so that a machine that stands still for minutes uses up only one of the seconds.
    package func hasEnded(seconds: Int) -> Bool {
        for _ in 0..<seconds where hasEnded(within: 1000) { return true }
        return hasEnded()
    }

    package func signal(_ number: Int32) {
        end.withLock { if $0 == nil { kill(process, number) } }
    }

    /// Lists the processes that are left, and where they wait.
    package func report() -> String {
        let left = members
        return left.isEmpty ? "no process is left" : left.map(ProcessReport.text).joined(separator: "\n")
    }

    /// Kills all processes and waits for their end.
    package func endAll() {
        signal(SIGKILL)
        _ = reap()
        // Many processes end by themselves, a moment after the first one.
        guard !hasEnded(within: 100) else { return }
        // Look repeatedly, because a process that has just been started is not seen at once.
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
