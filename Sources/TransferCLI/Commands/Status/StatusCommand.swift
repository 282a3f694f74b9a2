private import Glibc
private import TransferModel
private import TransferServer
private import TransferSystem

/// `transfer status`: asks the server of a directory what it does.
struct StatusCommand {
    private let directory: String
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        directory = try arguments.requiredString("dir")
        isJSON = arguments.isSet("json")
    }

    func run() -> ExitCode {
        do throws(SystemError) {
            return show(try StatusSocket.ask(serverOf: directory))
        } catch {
            return fail(error)
        }
    }

    private func show(_ answer: [UInt8]) -> ExitCode {
        guard !answer.isEmpty else { return fail(SystemError(errno: EACCES, call: "connect")) }
        guard let report = (try? JSONReader.read(answer)).flatMap(StatusReport.init) else {
            return say("The server's answer is not in the form '\(StatusSocket.schema)': it is of another version.")
        }
        let text = isJSON ? String(decoding: answer, as: UTF8.self) : report.text
        guard let loss = StandardStream.output.write(text), loss.errno != EPIPE else { return .success }
        return say("The status cannot be written to standard output: \(loss.reason).")
    }

    private func fail(_ error: SystemError) -> ExitCode {
        let place = "'\(directory.escapedForDisplay)'"
        switch error.errno {
        case ENOENT, ENOTDIR, ECONNREFUSED: return say("No server is running with \(place).", .unreachable)
        case EACCES, EPERM:
            return say("The server of \(place) tells only the user whom it runs as, and root.", .accessRefused)
        case ETIMEDOUT, EAGAIN: return say("The server of \(place) does not answer.", .unreachable)
        default: return say("The server of \(place) cannot be asked: \(error.reason).", .unreachable)
        }
    }

    private func say(_ sentence: String, _ code: ExitCode = .fault) -> ExitCode {
        StandardStream.error.write("transfer: \(sentence)\n")
        return code
    }
}
