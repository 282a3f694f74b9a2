import Glibc
import TransferFuzzing

/// The runner of the target that TRANSFER_FUZZ_TARGET names. libFuzzer calls from one thread.
nonisolated(unsafe) private let runner: FuzzRunner = {
    let name = getenv("TRANSFER_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        let targets = FuzzTarget.allCases.map(\.rawValue).joined(separator: " ")
        stop("TRANSFER_FUZZ_TARGET must be one of: \(targets)")
    }
    return FuzzRunner(target)
}()

/// The function that libFuzzer calls for every input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do throws(Finding) {
        try runner.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    } catch {
        stop("Finding: \(error)")
    }
    return 0
}

/// Ends the process in a way that libFuzzer counts as a crash, so that libFuzzer keeps the input.
private func stop(_ message: String) -> Never {
    let line = message + "\n"
    _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    abort()
}
