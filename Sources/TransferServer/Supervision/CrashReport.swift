package import Glibc
import TransferModel
import TransferSystem

/// The report about a worker that a signal has ended.
package struct CrashReport: Sendable {
    /// UTC, in seconds since 1970.
    let time: time_t
    let signal: Int32
    let process: pid_t
    /// The program and its version.
    let agent: String
    /// Seconds that the worker has lived.
    let seconds: Int
    /// What the worker itself has written; these may be any bytes.
    let words: [UInt8]

    package init(time: time_t, signal: Int32, process: pid_t, agent: String, seconds: Int, words: [UInt8]) {
        (self.time, self.signal, self.process) = (time, signal, process)
        (self.agent, self.seconds, self.words) = (agent, seconds, words)
    }

    /// Name of the signal without blanks, for file names.
    var signalName: String { SignalName.of(signal).replacing(" ", with: "-") }

    /// The time for a file name, which sorts like the times.
    var stamp: String { moment.text(.seconds, .name) }

    var text: [UInt8] {
        let head = """
            \(agent) was ended by \(SignalName.of(signal)) at \(moment.text(.seconds))
            process \(process), after \(seconds) seconds

            """
        let silence =
            "It wrote no stack trace: the signal came from another process, or the trace could not be written.\n"
        return Array(head.utf8) + (words.isEmpty ? Array(silence.utf8) : words)
    }

    private var moment: Timestamp { Timestamp(seconds: Int64(time), nanoseconds: 0) }
}
