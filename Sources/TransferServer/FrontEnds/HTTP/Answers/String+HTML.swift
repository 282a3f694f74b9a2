import TransferModel

extension String {
    /// As text of a page, or in quotes. What could steer how it is shown is shown itself.
    var htmlEscaped: String {
        var text = ""
        for scalar in escapedForDisplay.unicodeScalars {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
