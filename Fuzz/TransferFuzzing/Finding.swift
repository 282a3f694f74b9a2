/// Something that must never be so, and is.
package struct Finding: Error, Equatable, CustomStringConvertible {
    /// A sentence for people.
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// - Throws: a finding unless the condition holds.
func require(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws(Finding) {
    guard condition else { throw Finding(otherwise()) }
}

/// - Parameter isOneLine: whether there may be no line feeds.
/// - Throws: a finding when something in the text steers a terminal.
func require(shown text: String, isOneLine: Bool = true) throws(Finding) {
    let isSafe = text.unicodeScalars.allSatisfy { scalar in
        switch scalar.properties.generalCategory {
        case .control: scalar == "\n" && !isOneLine
        case .lineSeparator, .paragraphSeparator: false
        default: !scalar.properties.isBidiControl
        }
    }
    try require(isSafe, "Shown as it is: \(text.debugDescription)")
}
