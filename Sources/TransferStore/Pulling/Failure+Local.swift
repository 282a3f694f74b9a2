package import TransferModel

extension Failure {
    /// The same for whoever stores on this machine: what a server would say of its disk, is said of this one.
    package var local: Failure {
        let code: ResultCode = self.code.class == .server ? .targetFailed : self.code
        return Failure(code, Self.replaced(Array("the server's".utf8), Array("this machine's".utf8), in: message))
    }

    private static func replaced(_ old: [UInt8], _ new: [UInt8], in text: String) -> String {
        var rest = Array(text.utf8)[...]
        var kept: [UInt8] = []
        while let byte = rest.first {
            if rest.starts(with: old) {
                kept += new
                rest = rest.dropFirst(old.count)
            } else {
                kept.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: kept, as: UTF8.self)
    }
}

/// Runs what is done on this machine and not on a server's.
func localized<T>(_ body: () throws(Failure) -> T) throws(Failure) -> T {
    do throws(Failure) { return try body() } catch { throw error.local }
}
