private import TransferModel

/// A fault in a configuration file.
package struct ConfigurationFault: Error, Equatable, Sendable {
    /// The message; it begins with the file, and the line if there is one.
    package let message: String

    init(_ path: String, _ message: String) {
        self.message = "\(path.escapedForDisplay): \(message)"
    }

    init(_ place: Setting.Place, _ message: String) {
        self.message = "\(place): \(message)"
    }

    init(_ path: String, _ fault: TOMLFault) {
        message = "\(path.escapedForDisplay):\(fault.line):\(fault.column): \(fault.message)"
    }
}
