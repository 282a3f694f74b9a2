/// A rule that an input has broken.
package struct Finding: Error, Equatable, CustomStringConvertible {
    /// A sentence that names the broken rule.
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// - Throws: a finding unless the condition holds.
func require(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws(Finding) {
    guard condition else { throw Finding(otherwise()) }
}

/// - Parameter isOneLine: whether line feeds are forbidden.
/// - Throws: a finding if a character of the text could control a terminal.
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
