private import TransferIO
private import TransferModel
private import TransferSystem

/// The program that `--exec` names. It is run for each delivery that is stored.
struct DeliveryProgram: Sendable {
    private let path: String

    init(_ path: String) {
        self.path = path
    }

    /// Runs the program on a separate thread, and waits for its end.
    ///
    /// - Parameter line: the text for the program's standard input, without the end of the line.
    /// - Returns: a phrase that says why the program failed; nil if it succeeded.
    func run(_ line: String) async -> String? {
        let pool = BlockingPool(name: "transfer-exec", threads: 1)
        defer { pool.close() }
        let ended = await pool.run { [path] in
            Result { () throws(SystemError) in try ChildProgram.run(path, input: Array("\(line)\n".utf8)) }
        }
        let name = path.escapedForDisplay
        return switch ended {
        case .success(.exited(0)): nil
        case .success(.exited(let code)): "\(name) ended with the code \(code)"
        case .success(.killed(let signal)): "\(name) was ended by the signal \(signal)"
        case .failure(let error): "\(name) could not be run: \(error.reason)"
        }
    }
}
