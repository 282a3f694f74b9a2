import TransferSystem

/// Runs system calls and gives their failure its code and its sentence.
///
/// - Parameter doing: completes "Could not …".
@discardableResult
func attempt<T>(_ doing: @autoclosure () -> String, _ body: () throws(SystemError) -> T) throws(StoreError) -> T {
    do throws(SystemError) {
        return try body()
    } catch {
        throw StoreError(error, doing: doing())
    }
}
