internal import TransferProtocol
private import TransferSystem

extension MonotonicTime {
    static var now: MonotonicTime { MonotonicTime(nanoseconds: monotonicNanoseconds()) }
}
